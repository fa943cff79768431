import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline

// The steps that set the options of the load. Options without a step are set by `load(_:)`.
extension ImageContext {
    /// Changes any option of the load.
    public func load(_ change: (inout ImageOptions) -> Void) -> Self {
        with { context in
            var options = context.options.load ?? ImageOptions()
            change(&options)
            context.options.load = options
        }
    }

    // MARK: Processors

    /// Sets the processor, in place of those that were set before.
    public func setProcessor(_ processor: any ImageProcessor) -> Self { load { $0.processor = processor } }

    /// Adds a processor, which runs after those that were set before.
    public func appendProcessor(_ processor: any ImageProcessor) -> Self {
        load { options in
            if let first = options.processor {
                options.processor = first |> processor
            } else {
                options.processor = processor
            }
        }
    }

    /// Decodes pictures at a smaller size.
    public func downsampling(_ downsampling: Downsampling) -> Self { with { $0.options.downsampling = downsampling } }

    /// Decodes pictures at most at a size whose sides count pixels; ``Downsampling/to(_:)``.
    public func downsampling(size: CGSize) -> Self { downsampling(.to(PixelSize(size))) }

    /// Adds a processor that rounds the corners.
    ///
    /// - Parameter background: the colour behind the picture; `nil` for none.
    public func roundCorner(radius: CornerRadius, backgroundColor background: PixelColor? = nil) -> Self {
        appendProcessor(RoundCornerImageProcessor(cornerRadius: radius, backgroundColor: background))
    }

    /// Adds a processor that blurs, with a standard deviation in pixels.
    public func blur(radius: Double) -> Self { appendProcessor(BlurImageProcessor(blurRadius: radius)) }

    /// Adds a processor that tints.
    public func tint(color: PixelColor) -> Self { appendProcessor(TintImageProcessor(tint: color)) }

    /// Adds a processor that covers the picture with a colour; see `OverlayImageProcessor`.
    public func overlay(color: PixelColor, fraction: Double = 0.5) -> Self {
        appendProcessor(OverlayImageProcessor(overlay: color, fraction: fraction))
    }

    /// Adds a processor that turns the picture into black and white.
    public func blackWhite() -> Self { appendProcessor(BlackWhiteImageProcessor()) }

    // MARK: The source and the transfer

    /// Sets the priority of the load.
    public func priority(_ priority: TransferPriority) -> Self { load { $0.priority = priority } }

    /// Decides whether a failed transfer is tried again.
    public func retry(_ strategy: any RetryStrategy) -> Self { load { $0.retryStrategy = strategy } }

    /// Tries a failed transfer again; see `DelayRetryStrategy`.
    ///
    /// - Parameters:
    ///   - maxCount: the largest number of further attempts.
    ///   - interval: the pause before each. Default: 3 seconds.
    public func retry(maxCount: Int, interval: DelayRetryStrategy.Interval = .seconds(3)) -> Self {
        retry(DelayRetryStrategy(maxRetryCount: maxCount, retryInterval: interval))
    }

    /// Changes requests before they are sent.
    public func requestModifier(_ modifier: any AsyncImageDownloadRequestModifier) -> Self {
        load { $0.requestModifier = modifier }
    }

    /// Decides where a load goes that is redirected.
    public func redirectHandler(_ handler: any ImageDownloadRedirectHandler) -> Self {
        load { $0.redirectHandler = handler }
    }

    /// Sets the source for Low Data Mode.
    public func lowDataModeSource(_ source: Source?) -> Self { load { $0.lowDataSource = source } }

    /// Sets the sources that are tried in turn after the first one has failed.
    public func alternativeSources(_ sources: [Source]) -> Self { load { $0.alternativeSources = sources } }

    // MARK: The cache

    /// Loads the image whatever the cache has.
    public func forceRefresh(_ forces: Bool = true) -> Self { load { $0.forceRefresh = forces } }

    /// Takes the image from the cache only.
    public func onlyFromCache(_ only: Bool = true) -> Self { load { $0.onlyFromCache = only } }

    /// Loads an image that is not in memory again, without a look-up on disk.
    public func fromMemoryCacheOrRefresh(_ refreshes: Bool = true) -> Self {
        load { $0.fromMemoryCacheOrRefresh = refreshes }
    }

    /// Keeps the loaded bytes on disk beside the result of a processor.
    public func cacheOriginalImage(_ keeps: Bool = true) -> Self { load { $0.cacheOriginalImage = keeps } }

    /// Keeps the image in memory alone.
    public func cacheMemoryOnly(_ only: Bool = true) -> Self { load { $0.cacheMemoryOnly = only } }

    /// Waits with the result until the image is on disk.
    public func waitForCache(_ waits: Bool = true) -> Self { load { $0.waitForCache = waits } }

    /// Sets when the image expires in memory; `nil` for the cache's rule.
    public func memoryCacheExpiration(_ expiration: StorageExpiration?) -> Self {
        load { $0.memoryCacheExpiration = expiration }
    }

    /// Sets when the image expires on disk; `nil` for the cache's rule.
    public func diskCacheExpiration(_ expiration: StorageExpiration?) -> Self {
        load { $0.diskCacheExpiration = expiration }
    }

    /// Sets the cache of this load.
    public func targetCache(_ cache: ImageCache<Bitmap>) -> Self { load { $0.cache = cache } }
}
