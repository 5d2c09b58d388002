"""Links on which other links ride as carriages: shapes as functions of the station."""
