import HalcyonSupport

/// The images that are shown in each place and were not opened yet.
///
/// It holds the last ``most`` places, and the last pages of each with at most ``mostImages`` images.
struct ShownPlaces {
    /// The maximum number of places with a list.
    static let most = 256
    /// The maximum number of images of a place with several pages.
    static let mostImages = 10_000

    private struct Place {
        let name: String
        let user: String?
        var pages: [Set<UInt32>]

        func isOf(_ name: String) -> Bool { ByteName(self.name) == name }

        func isOf(user: String?) -> Bool {
            switch (self.user, user) {
            case (nil, nil): true
            case (let own?, let other?): ByteName(own) == other
            default: false
            }
        }
    }

    /// The places, that with the latest list last.
    private var places: [Place] = []

    /// Shows objects in a place, as a further page or in place of all others.
    mutating func show(_ objects: [UInt32], in name: String, to user: String?, isAppended: Bool) {
        let index = places.firstIndex { $0.isOf(name) && $0.isOf(user: user) }
        var place = index.map { places.remove(at: $0) } ?? Place(name: name, user: user, pages: [])
        if !isAppended { place.pages = [] }
        place.pages.append(Set(objects))
        var count = place.pages.reduce(0) { $0 + $1.count }
        while place.pages.count > 1, count > Self.mostImages { count -= place.pages.removeFirst().count }
        places.append(place)
        if places.count > Self.most { places.removeFirst() }
    }

    /// Hides a place for a user, or for all users if it is `nil`.
    mutating func hide(_ name: String, of user: String?) {
        places.removeAll { $0.isOf(name) && (user == nil || $0.isOf(user: user)) }
    }

    /// Removes an object that a user requests. Returns whether it was shown to the user.
    mutating func opened(_ object: UInt32, by user: String?) -> Bool {
        var wasShown = false
        for index in places.indices where places[index].isOf(user: user) {
            for page in places[index].pages.indices where places[index].pages[page].remove(object) != nil {
                wasShown = true
            }
        }
        return wasShown
    }

    /// Hides everything that is shown to a user.
    mutating func forget(user: String) { places.removeAll { $0.isOf(user: user) } }
}
