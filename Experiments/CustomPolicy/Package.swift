// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "CustomPolicy",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .executableTarget(
            name: "CustomPolicy",
            dependencies: [
                .product(name: "HalcyonExperiments", package: "Halcyon"),
                .product(name: "HalcyonSimulation", package: "Halcyon"),
            ])
    ]
)
