"""Links that others ride along: shapes as functions of the station."""
