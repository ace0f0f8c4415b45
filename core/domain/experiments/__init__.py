"""What an experiment is: its plan, the looks taken, reasons to hold, and the decision."""
