// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "CacheBenchmark",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "Halcyon", path: "../..")],
    targets: [
        .executableTarget(
            name: "CacheBenchmark",
            dependencies: [
                .product(name: "Halcyon", package: "Halcyon"), .product(name: "HalcyonEviction", package: "Halcyon"),
            ])
    ]
)
