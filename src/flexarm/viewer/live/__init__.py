"""Pages that simulate an arm live in the browser: equations and integrator in WebAssembly."""
