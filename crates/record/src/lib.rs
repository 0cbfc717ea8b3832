//! Record every step, layer and operation of an engine at a cost near two clock reads, and lose nothing.
