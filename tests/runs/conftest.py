from tests.hand_made_records import make_record, project, run

__all__ = ["make_record", "project", "run"]
