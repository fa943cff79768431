// swift-tools-version: 6.2
import PackageDescription

/// A gallery in a window of GTK 4, whose pictures HalcyonViews loads. A package of its own, because only it needs GTK.
let package = Package(
    name: "Screen",
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(name: "CScreen", dependencies: ["CGTK"], linkerSettings: [.linkedLibrary("X11")]),
        .executableTarget(
            name: "Screen", dependencies: ["CScreen", .product(name: "HalcyonViews", package: "Halcyon")]),
    ]
)
