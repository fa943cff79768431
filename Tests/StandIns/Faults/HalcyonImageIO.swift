// A fault that the check must report: a picture that is no number.
#if canImport(ImageIO)
    import ImageIO

    func fault(_ file: SystemFile) -> Int { file.thumbnail(longestSide: 1) }
#endif
