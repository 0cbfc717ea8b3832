//! Every macro of ferrum-trace with all call sites compiled out.
