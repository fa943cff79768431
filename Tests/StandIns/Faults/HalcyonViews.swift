// A fault that every check must report: a picture that is no number.
#if canImport(CoreGraphics)
    import CoreGraphics
    import HalcyonImages

    func fault(_ picture: Bitmap) -> Int { picture.cgImage }
#endif
