/// A binary heap with the least order first, whose elements are found by their ids.
package struct KeyedHeap<ID: Hashable, Order: Comparable> {
    private var items: [(id: ID, order: Order)] = []
    private var places: [ID: Int] = [:]

    package init() {}

    /// The element with the least order.
    package var first: (id: ID, order: Order)? { items.first }

    /// Inserts an element, or changes its order.
    package mutating func set(_ id: ID, _ order: Order) {
        let place = places[id] ?? items.count
        if place == items.count { items.append((id, order)) }
        put((id, order), at: place)
    }

    /// Removes an element. Returns its order; `nil` if it is not there.
    @discardableResult
    package mutating func remove(_ id: ID) -> Order? {
        guard let place = places.removeValue(forKey: id) else { return nil }
        let order = items[place].order
        let last = items.removeLast()
        if place < items.count { put(last, at: place) }
        return order
    }

    /// Puts an element into a place whose own is gone, and moves it where it belongs.
    private mutating func put(_ item: (id: ID, order: Order), at place: Int) {
        var place = place
        while place > 0, item.order < items[(place - 1) / 2].order {
            move(from: (place - 1) / 2, to: place)
            place = (place - 1) / 2
        }
        while true {
            var child = 2 * place + 1
            guard child < items.count else { break }
            if child + 1 < items.count, items[child + 1].order < items[child].order { child += 1 }
            guard items[child].order < item.order else { break }
            move(from: child, to: place)
            place = child
        }
        items[place] = item
        places[item.id] = place
    }

    private mutating func move(from: Int, to place: Int) {
        items[place] = items[from]
        places[items[place].id] = place
    }
}
