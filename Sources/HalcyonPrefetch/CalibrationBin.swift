import HalcyonSupport

/// A bin of calibrated probabilities. `HalcyonSupport`, which declares it, is not a product.
public typealias CalibrationBin = HalcyonSupport.CalibrationBin
