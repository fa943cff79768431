import ArgumentParser
import Foundation
import HalcyonSimulation

/// The options for the table of runs.
struct TableArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Order the rows by this column: \(Self.names). The best comes first.", valueName: "column"))
    var sortBy: String?

    @Option(
        help: ArgumentHelp(
            "Show these columns only, in this order; by default those that apply.", valueName: "column,…"))
    var columnsShown: String?

    @Flag(help: "Show miss ratios in place of hit ratios.")
    var missRatio = false

    private static let names = TableOptions.Column.allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the options of the table.
    func options() throws(ReplayError) -> TableOptions {
        var options = TableOptions()
        options.showsMissRatio = missRatio
        if let sortBy { options.order = try Self.column(sortBy, option: "--sort-by") }
        guard let columnsShown else { return options }
        var columns: [TableOptions.Column] = []
        for name in columnsShown.split(separator: ",", omittingEmptySubsequences: false) {
            columns.append(try Self.column(name.trimmingCharacters(in: .whitespaces), option: "--columns-shown"))
        }
        options.columns = columns
        return options
    }

    private static func column(_ name: String, option: String) throws(ReplayError) -> TableOptions.Column {
        guard let column = TableOptions.Column(rawValue: name) else {
            throw .usage("\(option) has no column '\(name)': write \(names).")
        }
        return column
    }
}
