"""Live simulation of an arm in a page: equations of motion and integrator in WebAssembly."""
