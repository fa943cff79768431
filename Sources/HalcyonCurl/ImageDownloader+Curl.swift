import HalcyonNetworking
import HalcyonSupport

// The platforms whose default transport this is: see Package.swift.
#if HALCYON_CURL
    extension ImageDownloader {
        /// The default downloader. By default one whose transport is ``CurlTransport/shared``, created when this is first read.
        ///
        /// Set it when the app starts, to configure it; those who have read it before keep the downloader that they have.
        public static var `default`: ImageDownloader {
            get { defaultDownloader.value { ImageDownloader(name: "default") } }
            set { defaultDownloader.set(newValue) }
        }

        /// Creates a downloader whose transport is ``CurlTransport/shared``.
        ///
        /// - Parameters:
        ///   - name: the name of the downloader.
        ///   - clock: the clock for retries and freshness.
        public convenience init(
            name: String, configuration: Configuration = Configuration(), clock: any CacheClock = SystemClock()
        ) {
            self.init(name: name, configuration: configuration, transport: CurlTransport.shared, clock: clock)
        }
    }

    private let defaultDownloader = SettableDefault<ImageDownloader>()
#endif
