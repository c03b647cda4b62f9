"""Hidden and public cases of a problem, for the rooms that use them.

Cases are made from a package's `cases.py` (see `draw`), checked and given expected values by `case_maker`, and kept on
disk by `case_store`; the records are in `case`. Importing this imports torch.
"""

from grader.case import DEVICE, HIDDEN, PUBLIC, VALUES, Case, CaseSet, Version
from grader.case_store import (
    active,
    export_version,
    has_cases,
    import_version,
    list_versions,
    load_active,
    regenerate,
    rollback,
)
from grader.custom import custom_case

__all__ = [
    "DEVICE",
    "HIDDEN",
    "PUBLIC",
    "VALUES",
    "Case",
    "CaseSet",
    "Version",
    "active",
    "custom_case",
    "export_version",
    "has_cases",
    "import_version",
    "list_versions",
    "load_active",
    "regenerate",
    "rollback",
]
