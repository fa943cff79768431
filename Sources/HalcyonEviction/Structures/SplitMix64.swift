import HalcyonSupport

/// The random number generator from which policies draw. `HalcyonSupport`, which declares it, is not a product.
public typealias SplitMix64 = HalcyonSupport.SplitMix64
