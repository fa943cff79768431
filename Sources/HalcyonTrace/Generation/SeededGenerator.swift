import HalcyonSupport

/// The random number generator from which models and size rules draw. `HalcyonSupport`, which declares it, is not a product.
package typealias SeededGenerator = HalcyonSupport.SeededGenerator
