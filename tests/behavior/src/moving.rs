pub const SCENES: &[crate::Scene] = &[];
