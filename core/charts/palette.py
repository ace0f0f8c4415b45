"""Colours mean concepts, on every page, light and dark; unknown is hatched grey."""

from core.catalogue import Concept

COLOURS: dict[Concept, str] = {
    Concept.ENGINE: "#3B8FE5",
    Concept.GATEWAY: "#14A098",
    Concept.REQUEST: "#9B72E8",
    Concept.COMPUTED: "#8593A6",
    Concept.EXTERNAL: "#D99A1C",
    Concept.PREEMPTION: "#E2632B",
    Concept.WAITING: "#A0765B",
    Concept.NEUTRAL: "#8593A6",
}
UNKNOWN = "rgba(140,150,165,0.85)"
QUIET = "rgba(140,150,165,0.7)"
