// Declarations of SwiftUI that HalcyonViews uses, with Apple's signatures. Their bodies are never run.
@_exported import CoreGraphics
@_exported import Foundation

@MainActor
@preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

public struct EmptyView: View, Sendable {
    public nonisolated init() {}
    public var body: Never { fatalError() }
}

public struct ConditionalContent<First: View, Second: View>: View {
    public var body: Never { fatalError() }
}

@resultBuilder
public enum ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildEither<First: View, Second: View>(first: First) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }
}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public init(initialValue: Value) { wrappedValue = initialValue }
    public private(set) var wrappedValue: Value
}

extension State: Sendable where Value: Sendable {}

public struct Image: View, Sendable {
    public enum Orientation: UInt8, Sendable { case up }
    public enum ResizingMode: Sendable { case tile, stretch }
    public nonisolated init(decorative cgImage: CGImage, scale: CGFloat, orientation: Orientation = .up) {}
    public func resizable(resizingMode: ResizingMode = .stretch) -> Image { self }
    public var body: Never { fatalError() }
}

public struct Animation: Equatable, Sendable {
    public static func linear(duration: TimeInterval) -> Animation { Animation() }
}

extension View {
    public nonisolated func animation<Value: Equatable>(_ animation: Animation?, value: Value) -> some View { self }
    public nonisolated func onAppear(perform action: (() -> Void)? = nil) -> some View { self }
    public nonisolated func onDisappear(perform action: (() -> Void)? = nil) -> some View { self }
    public nonisolated func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping () -> Void
    ) -> some View { self }
}
