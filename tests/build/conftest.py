from tests.constructed_runs import project, write_run

__all__ = ["project", "write_run"]
