/// The load templates of images that were not announced, by processor.
struct ForesightRecipes {
    /// The template for its processor until the first request with that processor.
    let usual: ForesightRecipe
    private var asked: [String: ForesightRecipe] = [:]

    init(usual: ForesightRecipe) { self.usual = usual }

    /// Adds the template of a request.
    mutating func note(_ recipe: ForesightRecipe) { asked[recipe.processor] = recipe }

    /// The template of the first request with a processor; `nil` if there was none.
    subscript(processor: String) -> ForesightRecipe? { asked[processor] }

    /// Returns the template of an object; `nil` if it is unknown since the start.
    func recipe(of known: ForesightCatalogue.Known) -> ForesightRecipe? {
        if let recipe = known.recipe { return recipe }
        return known.processor.flatMap { asked[$0] ?? ($0 == usual.processor ? usual : nil) }
    }
}
