// The umbrella: everything that an app needs, so that `import Halcyon` is enough.
@_exported public import HalcyonAccessLog
@_exported public import HalcyonCache
@_exported public import HalcyonCodecs
@_exported public import HalcyonEviction
@_exported public import HalcyonImages
@_exported public import HalcyonLearning
@_exported public import HalcyonNetworking
@_exported public import HalcyonPipeline
@_exported public import HalcyonPrediction
@_exported public import HalcyonPrefetch
@_exported public import HalcyonViews

// The default transport: see Package.swift.
#if HALCYON_CURL
    @_exported public import HalcyonCurl
#else
    @_exported public import HalcyonURLSession
#endif
