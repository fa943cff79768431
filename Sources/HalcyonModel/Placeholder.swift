import HalcyonEviction
extension PolicyCatalogue { public static let standard = classical }
