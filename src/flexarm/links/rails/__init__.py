"""Rails: links along which other links ride as carriages."""
