import HalcyonCache
import HalcyonImages

extension ImageCache where Value == Bitmap {
    /// The default cache of pictures: that of `ImageCache<Bitmap>`, so that `ImageCache.default` needs no type.
    ///
    /// Set it when the app starts, to configure it; those who have read it before keep the cache that they have.
    public static var `default`: ImageCache<Bitmap> {
        get { defaultCache() }
        set { setDefaultCache(newValue) }
    }

    // Generic functions reach the property that every kind of value has, which this one hides.

    private static func defaultCache<Kind: DataTransformable>() -> ImageCache<Kind> { ImageCache<Kind>.default }

    private static func setDefaultCache<Kind: DataTransformable>(_ cache: ImageCache<Kind>) {
        ImageCache<Kind>.default = cache
    }
}
