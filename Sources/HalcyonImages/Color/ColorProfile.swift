import Foundation

/// The part of an ICC profile (ICC.1:2022) that is read: the matrix and curves of an RGB profile, or the curve of a grey one.
///
/// Profiles with tables (`A2B0`), CMYK profiles, and profiles with a connection space other than XYZ are not converted.
package struct ColorProfile {
    /// The colour space of a profile.
    package enum Space { case rgb, grey }

    /// The maximum size of a profile, in bytes.
    package static let sizeLimit = 4 << 20

    package let space: Space
    /// The columns of the matrix to XYZ under D50, one per channel; empty for grey.
    package let matrix: [SIMD3<Double>]
    package let curves: [ToneCurve]

    /// Reads a profile; `nil` if it is not supported.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.sizeLimit, let read = bytes.withUnsafeBytes({ Self.read(ByteView($0)) }) else {
            return nil
        }
        (space, matrix, curves) = read
    }

    private static func read(_ view: ByteView) -> (Space, [SIMD3<Double>], [ToneCurve])? {
        guard view.holds("acsp".utf8, at: 36), view.holds("XYZ ".utf8, at: 20), let count = view.big(128, 4),
            count <= 200
        else { return nil }
        func tag(_ name: String) -> ByteView? {
            for index in 0..<count where view.holds(name.utf8, at: 132 + index * 12) {
                guard let start = view.big(136 + index * 12, 4), let length = view.big(140 + index * 12, 4) else {
                    return nil
                }
                return view.slice(start, length)
            }
            return nil
        }
        // Tables take precedence over the matrix.
        guard tag("A2B0") == nil, tag("A2B1") == nil, tag("D2B0") == nil else { return nil }
        if view.holds("GRAY".utf8, at: 16) {
            guard let curve = tag("kTRC").flatMap(ToneCurve.init) else { return nil }
            return (.grey, [], [curve])
        }
        guard view.holds("RGB ".utf8, at: 16) else { return nil }
        let columns = ["rXYZ", "gXYZ", "bXYZ"].compactMap { tag($0).flatMap(Self.point) }
        let curves = ["rTRC", "gTRC", "bTRC"].compactMap { tag($0).flatMap(ToneCurve.init) }
        guard columns.count == 3, curves.count == 3 else { return nil }
        return (.rgb, columns, curves)
    }

    /// Reads three fixed-point numbers.
    private static func point(_ tag: ByteView) -> SIMD3<Double>? {
        guard tag.starts(with: "XYZ ".utf8), let x = tag.signed(8), let y = tag.signed(12), let z = tag.signed(16)
        else {
            return nil
        }
        return SIMD3(x, y, z)
    }

    /// Returns the conversion to sRGB for pixels of a colour space; `nil` if the profile has another one.
    package func conversion(of pixels: Space) -> ColorConversion? {
        guard pixels == space else { return nil }
        return ColorConversion(self)
    }
}

/// A tone curve, which maps a channel's value to linear light, both 0 to 1.
package struct ToneCurve {
    private enum Kind {
        case gamma(Double)
        case table([Double])
        /// `(a x + b) ^ g + e` for `x` of at least `d`, `c x + f` below.
        case parametric(g: Double, a: Double, b: Double, c: Double, d: Double, e: Double, f: Double)
    }

    private let kind: Kind

    /// Reads a tag of the type `curv` or `para`.
    package init?(_ tag: ByteView) {
        if tag.starts(with: "curv".utf8), let count = tag.big(8, 4) {
            switch count {
            case 0: kind = .gamma(1)
            case 1:
                guard let gamma = tag.big(12, 2) else { return nil }
                kind = .gamma(Double(gamma) / 256)
            default:
                guard count <= 65_536, tag.slice(12, count * 2) != nil else { return nil }
                kind = .table((0..<count).map { Double(tag.big(12 + $0 * 2, 2) ?? 0) / 65_535 })
            }
        } else if tag.starts(with: "para".utf8), let type = tag.big(8, 2), type <= 4 {
            let count = [1, 3, 4, 5, 7][type]
            let p = (0..<count).compactMap { tag.signed(12 + $0 * 4) }
            guard p.count == count else { return nil }
            switch type {
            case 0: kind = .gamma(p[0])
            case 1:
                guard p[1] != 0 else { return nil }
                kind = .parametric(g: p[0], a: p[1], b: p[2], c: 0, d: -p[2] / p[1], e: 0, f: 0)
            case 2:
                guard p[1] != 0 else { return nil }
                kind = .parametric(g: p[0], a: p[1], b: p[2], c: 0, d: -p[2] / p[1], e: p[3], f: p[3])
            case 3: kind = .parametric(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4], e: 0, f: 0)
            default: kind = .parametric(g: p[0], a: p[1], b: p[2], c: p[3], d: p[4], e: p[5], f: p[6])
            }
        } else {
            return nil
        }
    }

    /// Returns the linear light of a value.
    package func light(_ value: Double) -> Double {
        let light: Double
        switch kind {
        case .gamma(let gamma): light = pow(value, gamma)
        case .table(let table):
            let place = value * Double(table.count - 1)
            let below = min(Int(place), table.count - 2)
            light = table[below] + (table[below + 1] - table[below]) * (place - Double(below))
        case .parametric(let g, let a, let b, let c, let d, let e, let f):
            light = value >= d ? pow(max(0, a * value + b), g) + e : c * value + f
        }
        return light.isFinite ? min(max(light, 0), 1) : 0
    }
}

extension ByteView {
    /// Reads a signed fixed-point number with 16 integer and 16 fraction bits.
    fileprivate func signed(_ at: Int) -> Double? {
        big(at, 4).map { Double(Int32(truncatingIfNeeded: $0)) / 65_536 }
    }
}
