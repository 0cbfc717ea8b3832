//! What a trace is: times, phases, argument values and the words of inference.
