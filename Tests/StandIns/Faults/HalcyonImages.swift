// A fault that the check must report: a picture that is no number.
#if canImport(CoreGraphics)
    import CoreGraphics

    func fault(_ picture: Bitmap) -> Int { picture.cgImage }
#endif
