"""Everything that is kept in PostgreSQL."""
