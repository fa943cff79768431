// The name `HalcyonModel` is deprecated: the learned policy is in `HalcyonLearning`, prefetching in `HalcyonPrefetch`.
@_exported public import HalcyonLearning
@_exported public import HalcyonPrefetch
