/// How a picture's colour and that behind it make one, each channel for itself
/// (W3C, Compositing and Blending Level 1, section 9.1, the separable modes).
public enum BlendMode: String, Sendable, Hashable, CaseIterable {
    /// The names are those of CSS.
    case normal, multiply, screen, overlay, darken, lighten, colorDodge, colorBurn, hardLight, softLight, difference
    /// As difference, with less contrast.
    case exclusion

    /// The mixed channel; `behind` and `front` are 0 to 1.
    func mix(_ behind: Double, _ front: Double) -> Double {
        switch self {
        case .normal: return front
        case .multiply: return behind * front
        case .screen: return behind + front - behind * front
        case .overlay: return BlendMode.hardLight.mix(front, behind)
        case .darken: return min(behind, front)
        case .lighten: return max(behind, front)
        case .colorDodge: return behind == 0 ? 0 : front == 1 ? 1 : min(1, behind / (1 - front))
        case .colorBurn: return behind == 1 ? 1 : front == 0 ? 0 : 1 - min(1, (1 - behind) / front)
        case .hardLight:
            return front <= 0.5
                ? behind * 2 * front : BlendMode.screen.mix(behind, 2 * front - 1)
        case .softLight:
            guard front > 0.5 else { return behind - (1 - 2 * front) * behind * (1 - behind) }
            let lighter = behind <= 0.25 ? ((16 * behind - 12) * behind + 4) * behind : behind.squareRoot()
            return behind + (2 * front - 1) * (lighter - behind)
        case .difference: return abs(behind - front)
        case .exclusion: return behind + front - 2 * behind * front
        }
    }
}
