"""Reading and writing of model files, side files and tables, with positions of mistakes."""
