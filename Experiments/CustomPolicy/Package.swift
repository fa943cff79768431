// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "CustomPolicy",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .executableTarget(
            name: "myreplay",
            dependencies: [
                .product(name: "HalcyonCommand", package: "Halcyon"),
                .product(name: "HalcyonEviction", package: "Halcyon"),
            ]),
        .testTarget(
            name: "myreplayTests",
            dependencies: ["myreplay", .product(name: "HalcyonEvictionTestSupport", package: "Halcyon")]),
    ]
)
