/// How images are loaded that were not announced, by processor.
struct ForesightRecipes {
    /// What holds for its processor as long as nobody has asked for an image that it makes.
    let usual: ForesightRecipe
    private var asked: [String: ForesightRecipe] = [:]

    init(usual: ForesightRecipe) { self.usual = usual }

    /// Somebody has asked for an image so.
    mutating func note(_ recipe: ForesightRecipe) { asked[recipe.processor] = recipe }

    /// As the first image with a processor was asked for; `nil` if none was.
    subscript(processor: String) -> ForesightRecipe? { asked[processor] }

    /// How an object is loaded; `nil` if that is not known since the start.
    func recipe(of known: ForesightCatalogue.Known) -> ForesightRecipe? {
        if let recipe = known.recipe { return recipe }
        return known.processor.flatMap { asked[$0] ?? ($0 == usual.processor ? usual : nil) }
    }
}
