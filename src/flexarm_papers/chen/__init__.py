"""Chen, Zhang & Liu 2012."""
