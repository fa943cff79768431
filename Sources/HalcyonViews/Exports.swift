// The modules whose types the interface of this module names.
@_exported public import HalcyonPipeline
