"""Reading and writing of model files, their side files and tables, with positions of mistakes."""
