// The modules whose types the interface of this module names.
@_exported public import HalcyonCache
@_exported public import HalcyonCodecs
@_exported public import HalcyonCurl
@_exported public import HalcyonImages
@_exported public import HalcyonNetworking
