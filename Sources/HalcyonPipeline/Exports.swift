// The modules whose types the interface of this module names.
@_exported public import HalcyonCache
@_exported public import HalcyonCodecs
@_exported public import HalcyonImages
@_exported public import HalcyonNetworking

// The default transport: see Package.swift.
#if HALCYON_CURL
    @_exported public import HalcyonCurl
#else
    @_exported public import HalcyonURLSession
#endif
