// swift-tools-version: 6.2
import PackageDescription

// Halcyon with swift-log, swift-metrics, swift-distributed-tracing, swift-service-lifecycle and libavif: a package of its own,
// so that an app that needs none of them resolves and builds none.

let environment = Context.environment
let strict: [SwiftSetting] = environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

func halcyon(_ product: String) -> Target.Dependency { .product(name: product, package: "Halcyon") }
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "HalcyonIntegrations",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: ["HalcyonObservability", "HalcyonServiceLifecycle", "HalcyonAVIF"].map {
        .library(name: $0, targets: [$0])
    },
    dependencies: [
        .package(name: "Halcyon", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "HalcyonObservability", dependencies: [halcyon("HalcyonPipeline"), metrics, logging, tracing],
            path: "HalcyonObservability", swiftSettings: strict),
        .target(
            name: "HalcyonServiceLifecycle", dependencies: [halcyon("HalcyonCache"), lifecycle],
            path: "HalcyonServiceLifecycle", swiftSettings: strict),
        // Compiles without libavif, and then refuses every file; only what depends on it links with the library.
        .target(name: "CAVIF", path: "CAVIF", linkerSettings: [.linkedLibrary("avif")]),
        .target(
            name: "HalcyonAVIF", dependencies: ["CAVIF", halcyon("HalcyonImages")], path: "HalcyonAVIF",
            swiftSettings: strict),
        .testTarget(
            name: "HalcyonObservabilityTests",
            dependencies: [
                "HalcyonObservability", halcyon("Halcyon"), halcyon("_HalcyonTestSupport"), metrics, logging, tracing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ], path: "Tests/HalcyonObservabilityTests", swiftSettings: strict),
        .testTarget(
            name: "HalcyonServiceLifecycleTests",
            dependencies: [
                "HalcyonServiceLifecycle", halcyon("Halcyon"), halcyon("_HalcyonTestSupport"), lifecycle,
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ], path: "Tests/HalcyonServiceLifecycleTests", swiftSettings: strict),
    ]
)
if environment["HALCYON_AVIF"] != nil {  // `make avif`, which installs libavif: only these tests link with it.
    package.targets.append(
        .testTarget(
            name: "HalcyonAVIFTests", dependencies: ["HalcyonAVIF", halcyon("Halcyon")], path: "Tests/HalcyonAVIFTests",
            exclude: ["Fixtures"], swiftSettings: strict))
}
if environment["HALCYON_DOCS"] != nil {  // `make docs`
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
