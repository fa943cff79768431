// A fault that the check must report: a picture that is no number. The module of ImageIO must be the one that is
// imported.
#if HALCYON_APPLE
    import HalcyonImageIO

    func fault() -> Int { HalcyonImageIO.PlatformCodecs.writesWebP }
#endif
