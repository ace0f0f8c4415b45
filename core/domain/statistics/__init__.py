"""Methods of the quality side: intervals that respect sessions, gates, planning, agreement."""
