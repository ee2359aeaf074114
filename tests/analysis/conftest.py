from tests.constructed_runs import project, write_run
from tests.constructed_table import table2_settings

__all__ = ["project", "table2_settings", "write_run"]
