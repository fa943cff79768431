// swift-tools-version: 6.2
import PackageDescription

let environment = Context.environment
let strict: [SwiftSetting] = environment["HALCYON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]

func halcyon(_ product: String) -> Target.Dependency { .product(name: product, package: "Halcyon") }

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Halcyon", path: "../.."),
        .package(name: "HalcyonIntegrations", path: "../../Sources/Integrations"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "RecordAndReplay",
            dependencies: [
                halcyon("Halcyon"), halcyon("HalcyonAccessLog"), halcyon("HalcyonExperiments"),
                halcyon("HalcyonSimulation"), halcyon("HalcyonTrace"),
            ], path: "RecordAndReplay", swiftSettings: strict),
        .executableTarget(name: "Gallery", dependencies: [halcyon("Halcyon")], path: "Gallery", swiftSettings: strict),
        .executableTarget(
            name: "MetricsExample",
            dependencies: [
                halcyon("Halcyon"), .product(name: "HalcyonObservability", package: "HalcyonIntegrations"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ], path: "Metrics", swiftSettings: strict),
    ])
// A gallery in a window of GTK 4, which nothing else needs: `make screen` sets HALCYON_SCREEN.
if environment["HALCYON_SCREEN"] != nil {
    package.targets += [
        .systemLibrary(name: "CGTK", path: "Screen/CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(
            name: "CScreen", dependencies: ["CGTK"], path: "Screen/CScreen", linkerSettings: [.linkedLibrary("X11")]),
        .executableTarget(
            name: "Screen", dependencies: ["CScreen", halcyon("Halcyon"), halcyon("HalcyonViews")],
            path: "Screen/Screen", swiftSettings: strict),
    ]
}
