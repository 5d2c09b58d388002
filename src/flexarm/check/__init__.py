"""What `flexarm check` finds out about an arm."""
