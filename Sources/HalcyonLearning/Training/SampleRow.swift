/// The features of an object at one instant (``Feature``), and the label: 41 bytes.
enum SampleRow {
    static let width = Feature.width + 1
    /// 1 if the object was requested again within the window, once that is known; else 0.
    static let label = Feature.width
}
