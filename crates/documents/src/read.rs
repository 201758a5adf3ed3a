//! One picture to one `DocumentReading`: the order of the stages.
