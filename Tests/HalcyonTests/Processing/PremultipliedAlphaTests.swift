import Testing

@testable import HalcyonImages

@Suite("Premultiplied alpha of Core Graphics", .timeLimit(.minutes(20)))
struct PremultipliedAlphaTests {
    /// A level that was premultiplied with an alpha, rounded, comes back within the step of that alpha: 255 / (2 ×
    /// alpha), rounded.
    @Test("Every level under every alpha is restored as closely as premultiplied bytes allow")
    func everyLevelIsRestored() {
        var failures = 0
        for alpha in 1...255 {
            for level in 0...255 {
                let premultiplied = Int((Double(level * alpha) / 255).rounded())
                let pixel = [UInt8](repeating: UInt8(premultiplied), count: 3) + [UInt8(alpha)]
                let straight = PremultipliedAlpha.straight(pixel)
                let exact = min((Double(premultiplied) * 255 / Double(alpha)).rounded(), 255)
                let isNear = abs(Double(straight[0]) - Double(level)) <= 255 / (2 * Double(alpha)) + 0.5
                if Double(straight[0]) != exact || !isNear || straight[3] != UInt8(alpha) || straight[1] != straight[0]
                {
                    failures += 1
                }
            }
        }
        #expect(failures == 0)
    }

    @Test("Transparent pixels have no colour, opaque ones are unchanged, and levels above alpha are limited")
    func edgeValuesAreLimited() {
        #expect(PremultipliedAlpha.straight([]) == [])
        #expect(PremultipliedAlpha.straight([9, 8, 7, 0, 9, 8, 7, 255]) == [0, 0, 0, 0, 9, 8, 7, 255])
        #expect(PremultipliedAlpha.straight([200, 100, 50, 100]) == [255, 255, 128, 100])
    }
}
